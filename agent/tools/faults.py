"""What is wrong with a value, in the desk's words and not in those of the library that checks."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agent.domain.errors import InvalidInput

_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field",
    "string_too_short": "needs at least {min_length} characters",
    "string_too_long": "takes at most {max_length} characters",
    "too_short": "needs at least {min_length}",
    "too_long": "takes at most {max_length}",
    "enum": "is not one of {expected}",
    "literal_error": "is not one of {expected}",
    "value_error": "{error}",
}


def first_fault(error: ValidationError, whole: str) -> InvalidInput:
    """Return the first fault that pydantic found; `whole` names it where no field is at fault."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or whole
    return InvalidInput(where, first["msg"])


def fault_words(fault: ErrorDetails) -> str:
    """Return what is wrong, for the end of a sentence that begins with the field's name."""
    template = _WORDS.get(fault["type"])
    return fault["msg"] if template is None else template.format_map(fault.get("ctx", {}))
