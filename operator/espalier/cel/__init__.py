"""
The Common Expression Language, as API servers speak it: parser, checker, evaluator, costs.

It follows cel-go and ``k8s.io/apiserver/pkg/cel``. It knows no schema and no definition: those are
bound to it in ``espalier.schema.rules``.
"""
