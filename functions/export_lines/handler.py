"""Wire of the export."""

from shared.boundary.export import export_page
from shared.boundary.http import Operation, endpoint
from shared.boundary.models.interchange import ExportRequest
from shared.domain.principal import Role
from shared.runtime import store

handler = endpoint(
    store,
    Operation(route="GET /api/export", needs=Role.ADMIN, request=ExportRequest, run=export_page),
)
