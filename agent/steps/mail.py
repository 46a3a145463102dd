"""What leaves by mail: pages to people on call, and outcomes that customers have not read."""

from agent.desk import Desk, Lane
from agent.domain.deadlines import DELIVERY_LEASE
from agent.steps.customer_mail import send_to_customer
from agent.steps.page import PAGE, send_page
from storage import deliveries


def send_mail(desk: Desk) -> bool:
    """Send the mail that is due first; False when none was."""
    with desk.store.transaction() as tx:
        taken = deliveries.take(tx, Lane.MAIL, desk.replica, desk.clock.now(), DELIVERY_LEASE)
    if taken is None:
        return False
    if taken.row.kind == PAGE:
        send_page(desk, taken)
    else:
        send_to_customer(desk, taken)
    return True
