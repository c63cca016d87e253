"""An exported page as HTTP: JSON Lines, and the next cursor in a header."""

from typing import Any

from shared.boundary.http import NDJSON, Content
from shared.engine.exporting import ExportQuery, export_lines
from shared.engine.session import Session


def export_page(store: Any, session: Session, query: ExportQuery) -> Content:
    page = export_lines(store, session, query)
    headers = {"X-Next-Cursor": page.next_cursor} if page.next_cursor is not None else {}
    return Content(body=page.text, content_type=NDJSON, headers=headers)
