"""Somebody who owns the database and changes it behind the desk's back."""

from sqlalchemy import text

from storage.transaction import Store

_GUARDS = {
    "sqlite": (
        "DROP TRIGGER IF EXISTS audit_no_UPDATE",
        "DROP TRIGGER IF EXISTS audit_no_DELETE",
        "DROP TRIGGER IF EXISTS audit_heads_no_UPDATE",
        "DROP TRIGGER IF EXISTS audit_heads_no_DELETE",
    ),
    "postgresql": (
        "DROP TRIGGER IF EXISTS audit_append_only ON audit",
        "DROP TRIGGER IF EXISTS audit_heads_append_only ON audit_heads",
    ),
}


def intrude(store: Store, statement: str, *, rows: int = 1, **values: object) -> None:
    """Change so many rows; what keeps the trail from being changed is taken away first."""
    with store.transaction() as tx:
        for guard in _GUARDS[store.dialect]:
            tx.change(text(guard))
        assert tx.change(text(statement), **values) == rows
