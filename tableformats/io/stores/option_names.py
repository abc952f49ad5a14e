"""The names of options: what users of other libraries write, and the name that obstore has for it.

Names are compared in lower case. The prefixes ``aws_``, ``azure_``, ``azure_storage_`` and ``google_`` may stand before
every name of the service; those of PyIceberg are written out. Sources: the configuration keys of object_store (which
deltalake uses), PyIceberg's "FileIO" configuration, the documentation of s3fs, gcsfs and adlfs.
"""

from __future__ import annotations

__all__ = ["ALIASES", "CLIENT", "IGNORED", "NATIVE", "PREFIXES", "RETRY"]

PREFIXES = {"s3": ("aws_",), "gcs": ("google_",), "azure": ("azure_storage_", "azure_"), "http": ()}
_FOREIGN = ("aws_", "azure_", "google_", "s3.", "gcs.", "adls.", "client.")

NATIVE = {
    "s3": frozenset(
        [
            "access_key_id",
            "checksum_algorithm",
            "conditional_put",
            "container_authorization_token_file",
            "container_credentials_full_uri",
            "container_credentials_relative_uri",
            "copy_if_not_exists",
            "default_region",
            "disable_bulk_delete",
            "disable_tagging",
            "endpoint",
            "imdsv1_fallback",
            "metadata_endpoint",
            "region",
            "request_payer",
            "role_arn",
            "role_session_name",
            "s3_express",
            "secret_access_key",
            "server_side_encryption",
            "session_token",
            "skip_signature",
            "sse_bucket_key_enabled",
            "sse_customer_key_base64",
            "sse_kms_key_id",
            "sts_endpoint",
            "unsigned_payload",
            "virtual_hosted_style_request",
            "web_identity_token_file",
        ]
    ),
    "gcs": frozenset(
        [
            "application_credentials",
            "base_url",
            "bearer_token",
            "service_account",
            "service_account_key",
            "skip_signature",
        ]
    ),
    "azure": frozenset(
        [
            "account_key",
            "account_name",
            "authority_host",
            "client_id",
            "client_secret",
            "credential_type",
            "disable_tagging",
            "encryption_key",
            "endpoint",
            "fabric_cluster_identifier",
            "fabric_session_token",
            "fabric_token_service_url",
            "fabric_workload_host",
            "federated_token_file",
            "msi_endpoint",
            "msi_resource_id",
            "object_id",
            "sas_key",
            "skip_signature",
            "tenant_id",
            "token",
            "use_azure_cli",
            "use_emulator",
            "use_fabric_endpoint",
        ]
    ),
    "http": frozenset[str](),
}
"""The names of obstore, without their prefixes."""

CLIENT = frozenset(
    [
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "default_headers",
        "http1_only",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_ca_certificate",
        "proxy_excludes",
        "proxy_url",
        "randomize_addresses",
        "read_timeout",
        "root_certificate",
        "timeout",
        "user_agent",
    ]
)
"""Names of every service: of the HTTP client."""
RETRY = frozenset(("max_retries", "retry_timeout", "init_backoff", "max_backoff", "backoff_base"))
"""Names of every service: of retries."""

_RETRY_ALIASES = {
    "backoff_config.init_backoff": "init_backoff",
    "backoff_config.max_backoff": "max_backoff",
    "backoff_config.base": "backoff_base",
}
ALIASES: dict[str, dict[str, str]] = {
    "s3": {
        **_RETRY_ALIASES,
        "endpoint_url": "endpoint",
        "endpoint_url_s3": "endpoint",
        "token": "session_token",
        "bucket_region": "region",
        "region_name": "region",
        "key": "access_key_id",
        "username": "access_key_id",
        "secret": "secret_access_key",
        "password": "secret_access_key",
        "anon": "skip_signature",
        "anonymous": "skip_signature",
        "requester_pays": "request_payer",
        "profile_name": "profile",
        "s3.endpoint": "endpoint",
        "s3.access-key-id": "access_key_id",
        "s3.secret-access-key": "secret_access_key",
        "s3.session-token": "session_token",
        "s3.region": "region",
        "s3.profile-name": "profile",
        "s3.role-arn": "role_arn",
        "s3.role-session-name": "role_session_name",
        "s3.anonymous": "skip_signature",
        "s3.proxy-uri": "proxy_url",
        "s3.connect-timeout": "connect_timeout",
        "s3.request-timeout": "read_timeout",
        "s3.force-virtual-addressing": "virtual_hosted_style_request",
        "s3.path-style-access": "path_style_request",
        "client.access-key-id": "access_key_id",
        "client.secret-access-key": "secret_access_key",
        "client.session-token": "session_token",
        "client.region": "region",
        "client.profile-name": "profile",
        "client.role-arn": "role_arn",
        "client.role-session-name": "role_session_name",
    },
    "gcs": {
        **_RETRY_ALIASES,
        "service_account_path": "service_account",
        "token": "token",
        "anon": "skip_signature",
        "endpoint_url": "base_url",
        "gcs.oauth2.token": "bearer_token",
        "gcs.service.host": "base_url",
        "gcs.endpoint": "base_url",
        "gcs.no-auth": "skip_signature",
    },
    "azure": {
        **_RETRY_ALIASES,
        "access_key": "account_key",
        "master_key": "account_key",
        "sas_token": "sas_key",
        "bearer_token": "token",
        "authority_id": "tenant_id",
        "identity_endpoint": "msi_endpoint",
        "endpoint_url": "endpoint",
        "anon": "skip_signature",
        "connection_string": "connection_string",
        "account_host": "account_host",
        "adls.account-name": "account_name",
        "adls.account-key": "account_key",
        "adls.account-host": "account_host",
        "adls.sas-token": "sas_key",
        "adls.tenant-id": "tenant_id",
        "adls.client-id": "client_id",
        "adls.client-secret": "client_secret",
        "adls.connection-string": "connection_string",
        "adls.token": "token",
    },
    "http": {**_RETRY_ALIASES, "headers": "default_headers"},
}
"""Other spellings, with obstore's name or one that ``options.py`` understands."""

_FSSPEC = [
    "asynchronous",
    "cache_regions",
    "cache_timeout",
    "check_connection",
    "consistency",
    "default_block_size",
    "default_cache_type",
    "default_fill_cache",
    "listings_expiry_time",
    "loop",
    "max_concurrency_per_file",
    "max_paths",
    "project",
    "session_kwargs",
    "skip_instance_cache",
    "timeout_config",
    "use_listings_cache",
    "version_aware",
    "block_size",
    "blocksize",
    "access",
]
_PYICEBERG = [
    "s3.resolve-region",
    "s3.retry-strategy-impl",
    "s3.signer.endpoint",
    "s3.signer.uri",
    "gcs.project-id",
    "gcs.access",
    "gcs.consistency",
    "gcs.cache-timeout",
    "gcs.requester-pays",
    "gcs.session-kwargs",
    "gcs.default-location",
    "gcs.version-aware",
    "gcs.oauth2.token-expires-at",
    "gcs.default-bucket-location",
    "adls.blob-storage-authority",
    "adls.blob-storage-scheme",
    "adls.dfs-storage-authority",
    "adls.dfs-storage-scheme",
    "py-io-impl",
    "io-impl",
]
_DELTALAKE = [
    "allow_unsafe_rename",
    "s3_allow_unsafe_rename",
    "s3_locking_provider",
    "s3_dynamo_table_name",
    "s3_get_internal_server_error_retries",
    "s3_pool_idle_timeout_seconds",
    "s3_sts_pool_idle_timeout_seconds",
    "s3_force_credential_load",
    "ec2_metadata_disabled",
    "dynamo_lock_table_name",
    "mount_allow_unsafe_rename",
    "max_concurrent_requests",
]
IGNORED = frozenset([*_FSSPEC, *_PYICEBERG, *_DELTALAKE])
"""Options of other libraries that change nothing here: they tune what is done otherwise, or what writers do."""


def is_of_another_service(name: str, service: str) -> bool:
    """Whether the name begins like an option of another service; catalogs send the options of all of them."""
    own = {"s3": ("aws_", "s3.", "client."), "gcs": ("google_", "gcs."), "azure": ("azure_", "adls.")}
    return name.startswith(_FOREIGN) and not name.startswith(own.get(service, ()))
