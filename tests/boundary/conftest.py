"""None of these tests touches a store."""

from tests.support.boundary import environment

__all__ = ["environment"]
