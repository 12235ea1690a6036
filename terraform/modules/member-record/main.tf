# The record of a member: what docs/schemas/cluster-secret.json describes, and charts/fleet-secret
# reads from the secret manager. The module needs no provider and makes no resource: it is the
# contract as locals. A wrapper (terraform/spokes) writes `json` into the secret manager.
terraform {
  required_version = ">= 1.5"
}

locals {
  aws = var.aws == null ? {} : {
    aws_account_id   = var.aws.account_id
    aws_region       = var.aws.region
    aws_cluster_name = coalesce(var.aws.cluster_name, var.cluster_name)
    aws_vpc_id       = var.aws.vpc_id
    aws_oidc_issuer  = var.aws.oidc_issuer == null ? null : trimsuffix(trimprefix(var.aws.oidc_issuer, "https://"), "/")
  }

  # An ARN is an annotation: charts/aws-identity and charts/aws-resources take it from there.
  roles = { for component, arn in var.role_arns : "aws_role_${replace(component, "-", "_")}" => arn }

  # What says nothing is left out: an empty environment would blank the one that Git declares.
  metadata = { for key, value in merge(local.aws, local.roles, var.metadata) : key => value if value != null && value != "" }
  addons   = { for key, value in var.addons : key => value if value != null && value != "" }

  # Null settings are dropped. Their types differ, so that no conditional may choose between them.
  tls = { for key, value in {
    insecure   = var.connection.insecure ? true : null
    caData     = var.connection.ca_data
    certData   = var.connection.cert_data
    keyData    = var.connection.key_data
    serverName = var.connection.server_name
  } : key => value if value != null }

  config = { for key, value in {
    tlsClientConfig = length(local.tls) == 0 ? null : local.tls
    bearerToken     = var.connection.bearer_token
    awsAuthConfig = var.connection.role_arn == null ? null : {
      clusterName = coalesce(try(var.aws.cluster_name, null), var.cluster_name)
      roleARN     = var.connection.role_arn
    }
    proxyUrl = var.connection.proxy_url
  } : key => value if value != null }

  record = { for key, value in {
    cluster_name = var.cluster_name
    server       = var.server
    config       = local.config
    metadata     = length(local.metadata) == 0 ? null : local.metadata
    addons       = length(local.addons) == 0 ? null : local.addons
  } : key => value if value != null }
}
