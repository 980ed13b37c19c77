"""The demo: real AdmissionReviews over TLS, then a real engine ended twice as a kubelet would.

Once without the hook, once with the hook of the patch. The engine tests use the same parts (model, engine, kubelet,
load). Nothing here is shipped in the wheel.
"""
