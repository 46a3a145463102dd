"""Spanish; every thing is masculine, so that one article and one ending fit them all."""

from agent.domain.words.shape import Chips, Mails, Offers, Outcomes, Thing, Words

SPANISH = Words(
    refund=Thing(
        name="Reembolso",
        title="Reembolso de {amount}",
        title_on="Reembolso de {amount} del pedido {order}",
        way="el dinero está en camino",
        done="se ha pagado",
        undone="no se ha pagado nada",
    ),
    email=Thing(
        name="Correo",
        title="Correo electrónico",
        title_on="Correo electrónico sobre el pedido {order}",
        way="está en camino",
        done="se ha enviado",
        undone="no se ha enviado nada",
    ),
    other=Thing(
        name="Trámite",
        title="Trámite",
        title_on="Trámite sobre el pedido {order}",
        way="se está realizando",
        done="se ha realizado",
        undone="no se ha hecho nada",
    ),
    chips=Chips(
        waiting="{what}: nuestro equipo tiene que revisarlo un momento",
        paused="{what}: aprobado, pero por el momento todo está en pausa",
        approved="{what}: aprobado, {way}",
        done="{what}: hecho",
        accepted="{what}: aceptado, {way}",
        unknown="{what}: aprobado, estamos comprobando si se ha completado",
        failed="{what}: no se ha podido completar",
        declined="{what}: rechazado.",
        expired="{what}: nadie decidió a tiempo",
        replaced="{what}: sustituido por una solicitud modificada",
        withdrawn="{what}: retirado",
        called_off="{what}: anulado por nuestro equipo",
        with_reason="{said}. {reason}",
    ),
    outcomes=Outcomes(
        waiting="Nuestro equipo tiene que revisar un momento el {what}.",
        executed="Buenas noticias: el {what} {done}.",
        accepted="Buenas noticias: el {what} ha sido aceptado; {way}.",
        edited="Nuestro equipo ha cambiado el importe de {original} a {amount}.",
        declined="Nuestro equipo ha rechazado el {what}.",
        expired="Nadie decidió a tiempo sobre el {what}, así que {undone}.",
        failed="El {what} no se ha podido completar y {undone}.",
        came_back=(
            "El {what} no ha llegado: su banco no lo ha aceptado, así que el dinero no está en "
            "su cuenta."
        ),
        stale="El {what} no se ha realizado porque entretanto algo ha cambiado; {undone}.",
        unknown="El {what} está aprobado; todavía estamos comprobando si se ha completado.",
        withdrawn="El {what} ha sido retirado; {undone}.",
        called_off="El {what} ha sido anulado por nuestro equipo; {undone}.",
        replaced="El {what} ha sido sustituido por una solicitud modificada.",
    ),
    offers=Offers(
        person="Puedo pasarle con una persona.",
        person_if_liked="Si lo desea, puedo pasarle con una persona.",
        person_looks="Puedo pasarle con una persona que lo revise.",
        again_or_person="Puede volver a pedirlo, o puedo pasarle con una persona.",
    ),
    mails=Mails(
        subject="{name}: {status}",
        subject_on="{name} del pedido {order}: {status}",
        greeting="Hola, {name}:",
        hello="Hola:",
        amount="Importe",
        order="Pedido",
        status="Estado",
        reason="Lo que dice nuestro equipo",
        invitation=(
            "¿Tiene alguna pregunta? Escríbanos en el chat; también puede ayudarle una persona:"
        ),
        link="Abrir el chat",
        why=(
            "Este mensaje se ha enviado automáticamente porque hay una novedad sobre su "
            "solicitud que todavía no se ha leído en el chat."
        ),
        done="hecho",
        accepted="aceptado, en camino",
        declined="rechazado",
        expired="nadie decidió a tiempo",
        failed="no se ha podido completar",
        came_back="no ha llegado",
        stale="no se ha realizado",
        withdrawn="retirado",
        called_off="anulado por nuestro equipo",
    ),
    question=(
        "Responda aquí, por favor, antes del {until} UTC: hasta entonces nuestro equipo puede "
        "decidir sobre el {what}."
    ),
    time="{at:%d/%m/%Y, %H:%M}",
    model_down=(
        "Lo siento, ahora mismo no puedo responder. No se ha perdido nada: vuelva a escribir "
        "dentro de un momento o pida hablar con una persona."
    ),
    too_many_steps=(
        "Lo siento, no he podido terminar esto. He pedido a un compañero del equipo que se "
        "encargue."
    ),
    handed_off="Una persona de nuestro equipo se encargará aquí de atenderle.",
    joined="{name}, de nuestro equipo, ya está aquí.",
    ended="{name} ha salido del chat. El asistente vuelve a responder.",
)
