"""
A real etcd and kube-apiserver on loopback, for tests and for ``make demo-real``.
"""
