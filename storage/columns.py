"""What every table is made with: one naming convention, and a yes or no as a number."""

from sqlalchemy import Column, Integer, MetaData

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def flag(name: str) -> Column[int]:
    """Return a column that holds 0 or 1, and 0 where nothing is said."""
    return Column(name, Integer, nullable=False, default=0)
