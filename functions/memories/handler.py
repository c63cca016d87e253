"""Wire of single memories."""

from shared.boundary.http import Operation, endpoint
from shared.boundary.models import memories as wire
from shared.domain.errors import Conflict, NotFound
from shared.domain.principal import Role
from shared.engine.writes import delete_memory, get_memory, patch_memory, put_memory
from shared.runtime import store

ROUTE = "/api/memories/{id}"

handler = endpoint(
    store,
    Operation(
        route=f"GET {ROUTE}",
        needs=Role.READER,
        request=wire.MemoryGet,
        answer=wire.MemoryAnswer,
        refuses=(NotFound,),
        run=get_memory,
    ),
    Operation(
        route=f"PUT {ROUTE}",
        needs=Role.WRITER,
        request=wire.MemoryPut,
        answer=wire.WrittenAnswer,
        refuses=(NotFound, Conflict),
        run=put_memory,
    ),
    Operation(
        route=f"PATCH {ROUTE}",
        needs=Role.WRITER,
        request=wire.MemoryChange,
        answer=wire.WrittenAnswer,
        refuses=(NotFound, Conflict),
        run=patch_memory,
    ),
    Operation(
        route=f"DELETE {ROUTE}",
        needs=Role.WRITER,
        request=wire.MemoryDelete,
        answer=wire.DeletedAnswer,
        refuses=(NotFound,),
        run=delete_memory,
    ),
)
