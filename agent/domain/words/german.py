"""German; every thing is feminine, so that one article fits them all."""

from agent.domain.words.shape import Chips, Mails, Offers, Outcomes, Thing, Words

GERMAN = Words(
    refund=Thing(
        name="Erstattung",
        title="Erstattung von {amount}",
        title_on="Erstattung von {amount} für Bestellung {order}",
        way="das Geld ist unterwegs",
        done="wurde ausgezahlt",
        undone="es wurde nichts ausgezahlt",
    ),
    email=Thing(
        name="E-Mail",
        title="E-Mail",
        title_on="E-Mail zu Bestellung {order}",
        way="sie ist unterwegs",
        done="wurde gesendet",
        undone="es wurde nichts gesendet",
    ),
    other=Thing(
        name="Anfrage",
        title="Anfrage",
        title_on="Anfrage zu Bestellung {order}",
        way="sie wird gerade ausgeführt",
        done="wurde ausgeführt",
        undone="es wurde nichts unternommen",
    ),
    chips=Chips(
        waiting="{what}: wird kurz von unserem Team geprüft",
        paused="{what}: genehmigt, aber im Moment ist alles angehalten",
        approved="{what}: genehmigt, {way}",
        done="{what}: erledigt",
        accepted="{what}: angenommen, {way}",
        unknown="{what}: genehmigt, wir prüfen noch, ob es geklappt hat",
        failed="{what}: konnte nicht ausgeführt werden",
        declined="{what}: abgelehnt.",
        expired="{what}: niemand hat rechtzeitig entschieden",
        replaced="{what}: durch eine geänderte Anfrage ersetzt",
        withdrawn="{what}: zurückgezogen",
        called_off="{what}: von unserem Team abgebrochen",
        with_reason="{said}. {reason}",
    ),
    outcomes=Outcomes(
        waiting="Die {what} wird kurz von unserem Team geprüft.",
        executed="Gute Nachricht: Die {what} {done}.",
        accepted="Gute Nachricht: Die {what} wurde angenommen; {way}.",
        edited="Unser Team hat den Betrag von {original} auf {amount} geändert.",
        declined="Unser Team hat die {what} abgelehnt.",
        expired="Über die {what} hat niemand rechtzeitig entschieden; {undone}.",
        failed="Die {what} konnte nicht ausgeführt werden; {undone}.",
        came_back=(
            "Die {what} ist nicht angekommen: Ihre Bank hat sie nicht angenommen, das Geld hat "
            "Sie also nicht erreicht."
        ),
        stale=(
            "Die {what} wurde nicht ausgeführt, weil sich in der Zwischenzeit etwas geändert "
            "hat; {undone}."
        ),
        unknown="Die {what} ist genehmigt; wir prüfen noch, ob es geklappt hat.",
        withdrawn="Die {what} wurde zurückgezogen; {undone}.",
        called_off="Die {what} wurde von unserem Team abgebrochen; {undone}.",
        replaced="Die {what} wurde durch eine geänderte Anfrage ersetzt.",
    ),
    offers=Offers(
        person="Ich kann Sie an einen Menschen weitergeben.",
        person_if_liked="Wenn Sie möchten, gebe ich Sie an einen Menschen weiter.",
        person_looks="Ich kann Sie an einen Menschen weitergeben, der sich darum kümmert.",
        again_or_person=(
            "Sie können noch einmal fragen, oder ich gebe Sie an einen Menschen weiter."
        ),
    ),
    mails=Mails(
        subject="{name}: {status}",
        subject_on="{name} für Bestellung {order}: {status}",
        greeting="Guten Tag {name},",
        hello="Guten Tag,",
        amount="Betrag",
        order="Bestellung",
        status="Stand",
        reason="Das sagt unser Team dazu",
        invitation=(
            "Haben Sie eine Frage dazu? Schreiben Sie uns im Chat, auch ein Mensch kann Ihnen "
            "dort helfen:"
        ),
        link="Chat öffnen",
        why=(
            "Diese Nachricht wurde automatisch gesendet, weil es zu Ihrer Anfrage etwas Neues "
            "gibt, das im Chat noch nicht gelesen wurde."
        ),
        done="erledigt",
        accepted="angenommen, noch unterwegs",
        declined="abgelehnt",
        expired="niemand hat rechtzeitig entschieden",
        failed="konnte nicht ausgeführt werden",
        came_back="nicht angekommen",
        stale="nicht ausgeführt",
        withdrawn="zurückgezogen",
        called_off="von unserem Team abgebrochen",
    ),
    question=(
        "Bitte antworten Sie hier bis {until} UTC: Bis dahin kann unser Team über die {what} "
        "entscheiden."
    ),
    time="{at:%d.%m.%Y, %H:%M}",
    model_down=(
        "Entschuldigung, ich kann gerade nicht antworten. Nichts geht verloren: Bitte schreiben "
        "Sie gleich noch einmal, oder fragen Sie nach einem Menschen."
    ),
    too_many_steps=(
        "Entschuldigung, das konnte ich nicht zu Ende bringen. Ich habe eine Kollegin oder einen "
        "Kollegen gebeten, zu übernehmen."
    ),
    handed_off="Hier übernimmt gleich ein Mensch aus unserem Team.",
    joined="{name} aus unserem Team ist jetzt hier.",
    ended="{name} hat den Chat verlassen. Der Assistent antwortet wieder.",
    capitals=True,
)
