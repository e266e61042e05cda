"""
The media types of requests and of what is asked for.
"""

JSON_TYPE = "application/json"
JSON_PATCH_TYPE = "application/json-patch+json"
MERGE_PATCH_TYPE = "application/merge-patch+json"
APPLY_PATCH_TYPE = "application/apply-patch+yaml"
"""Server-side apply; its body may be JSON, since JSON is YAML."""
PARTIAL_TYPE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST_TYPE = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
