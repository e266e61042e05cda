"""
Ask an API server in discovery at which version it stores the objects of a resource.

Source:
    apiserver, ``pkg/endpoints/discovery/storageversionhash.go``; apiextensions-apiserver,
    ``pkg/apiserver/customresource_discovery_controller.go``.
"""

import base64
import hashlib

import msgspec

from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.paths import segment
from espalier.engine.ports import Endpoint
from espalier.errors import ForbiddenError, NotFoundError, RejectedError

_HASH_BYTES = 8


class _DiscoveredResource(msgspec.Struct, rename="camel"):
    name: str = ""
    storage_version_hash: str = ""


class _Discovered(msgspec.Struct):
    resources: list[_DiscoveredResource] | None = None


_resource_list = msgspec.json.Decoder(_Discovered)


def storage_version_hash(resource: Endpoint) -> str:
    """
    Return the hash that a server shows if it stores a resource at the endpoint's version.
    """
    name = f"{resource.group}/{resource.version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(name.encode()).digest()[:_HASH_BYTES]).decode()


async def is_caught_up(client: Client, resource: Endpoint) -> bool:
    """
    Report whether a server stores a resource at the endpoint's version, as far as it shows that.

    Returns:
        False if the server shows another version, or does not serve this one. True also if it
        shows no hash, or refuses to answer: then only the settle time speaks for it.

    Raises:
        TransientError: The server is busy or away.
    """
    call = ApiRequest(
        verb="get",
        resource=f"the discovery document of {resource.api_version}",
        method="GET",
        path=f"/apis/{segment(resource.group)}/{segment(resource.version)}",
        is_read=True,
    )
    try:
        found = await client.fetch(call, _resource_list)
    except NotFoundError:
        return False
    except (ForbiddenError, RejectedError):
        return True
    shown = [one for one in found.resources or () if one.name == resource.plural]
    expected = storage_version_hash(resource)
    return bool(shown) and all(one.storage_version_hash in ("", expected) for one in shown)
