"""Japanese."""

from agent.domain.words.shape import Chips, Mails, Offers, Outcomes, Thing, Words

JAPANESE = Words(
    refund=Thing(
        name="返金",
        title="{amount} の返金",
        title_on="ご注文 {order} の {amount} の返金",
        way="お支払いの手続き中です",
        done="お支払いが完了しました",
        undone="お支払いは行われていません",
    ),
    email=Thing(
        name="メール",
        title="メール",
        title_on="ご注文 {order} に関するメール",
        way="送信中です",
        done="送信されました",
        undone="送信は行われていません",
    ),
    other=Thing(
        name="ご依頼",
        title="ご依頼",
        title_on="ご注文 {order} に関するご依頼",
        way="対応中です",
        done="対応が完了しました",
        undone="対応は行われていません",
    ),
    chips=Chips(
        waiting="{what}: 担当チームが確認しています",
        paused="{what}: 承認されましたが、現在すべての処理を一時停止しています",
        approved="{what}: 承認されました。{way}",
        done="{what}: 完了しました",
        accepted="{what}: 受け付けられました。{way}",
        unknown="{what}: 承認されました。完了したかどうかを確認しています",
        failed="{what}: 完了できませんでした",
        declined="{what}: お断りしました。",
        expired="{what}: 期限までに判断されませんでした",
        replaced="{what}: 変更後のご依頼に置き換えられました",
        withdrawn="{what}: 取り下げられました",
        called_off="{what}: 担当チームが取り消しました",
        with_reason="{said}。{reason}",
    ),
    outcomes=Outcomes(
        waiting="{what}は、担当チームが確認しています。",
        executed="お知らせします。{what}は、{done}。",
        accepted="お知らせします。{what}は受け付けられました。{way}。",
        edited="担当チームが金額を {original} から {amount} に変更しました。",
        declined="申し訳ありませんが、担当チームは{what}をお断りしました。",
        expired="{what}は、期限までに判断されませんでした。{undone}。",
        failed="{what}は完了できませんでした。{undone}。",
        came_back=(
            "{what}は届きませんでした。銀行で受け付けられなかったため、お金はお手元に届いていません。"
        ),
        stale="{what}は、その間に状況が変わったため実行されませんでした。{undone}。",
        unknown="{what}は承認されました。完了したかどうかを引き続き確認しています。",
        withdrawn="{what}は取り下げられました。{undone}。",
        called_off="{what}は担当チームが取り消しました。{undone}。",
        replaced="{what}は、変更後のご依頼に置き換えられました。",
    ),
    offers=Offers(
        person="担当者におつなぎできます。",
        person_if_liked="ご希望でしたら、担当者におつなぎします。",
        person_looks="担当者におつなぎして、お調べすることができます。",
        again_or_person="もう一度ご依頼いただくか、担当者におつなぎすることができます。",
    ),
    mails=Mails(
        subject="{name}: {status}",
        subject_on="ご注文 {order} の{name}: {status}",
        greeting="{name} 様",
        hello="お客様",
        amount="金額",
        order="ご注文",
        status="状況",
        reason="担当チームからのご説明",
        invitation="ご不明な点はチャットでお知らせください。担当者がお手伝いすることもできます。",
        link="チャットを開く",
        why=(
            "ご依頼について新しいお知らせがあり、チャットではまだ読まれていないため、"
            "このメールを自動でお送りしました。"
        ),
        done="完了しました",
        accepted="受付済み、手続き中",
        declined="お断りしました",
        expired="期限までに判断されませんでした",
        failed="完了できませんでした",
        came_back="届きませんでした",
        stale="実行されませんでした",
        withdrawn="取り下げられました",
        called_off="担当チームが取り消しました",
    ),
    question=(
        "{until} (UTC) までにこちらでご返信ください。"
        "それまでは、担当チームが{what}について判断できます。"
    ),
    time="{at:%Y}年{at:%m}月{at:%d}日 {at:%H:%M}",
    model_down=(
        "申し訳ありませんが、ただいまお答えできません。内容は失われていません。"
        "しばらくしてからもう一度お書きいただくか、担当者をお呼びください。"
    ),
    too_many_steps="申し訳ありませんが、最後まで対応できませんでした。担当者に引き継ぎを依頼しました。",
    handed_off="ここからは担当チームの者が対応いたします。",
    joined="担当の{name}が対応いたします。",
    ended="{name}が退出しました。アシスタントが再び対応いたします。",
)
