# What registers a cluster with a hub: the role fleet-spoke-<cluster>, which the hub's Argo CD
# assumes, and the record <hub>/<cluster> in the secret manager, which the hub's External Secrets
# reads. docs/schemas/cluster-secret.json has the names and the form of the record.
terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 6.0" }
  }
}

module "trust" {
  source = "../trust-policies"

  account_id                = var.account_id
  region                    = var.hub.region
  argocd_role_arns          = var.argocd_role_arns
  external_secrets_role_arn = var.external_secrets_role_arn
}

resource "aws_iam_role" "spoke" {
  name               = "fleet-spoke-${var.name}"
  assume_role_policy = module.trust.documents.spoke_role
}

# The role administers the cluster.
resource "aws_eks_access_entry" "spoke" {
  cluster_name  = var.cluster.name
  principal_arn = aws_iam_role.spoke.arn
}

resource "aws_eks_access_policy_association" "spoke" {
  cluster_name  = var.cluster.name
  principal_arn = aws_eks_access_entry.spoke.principal_arn
  policy_arn    = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"

  access_scope {
    type = "cluster"
  }
}

module "record" {
  source = "../member-record"

  cluster_name = var.name
  server       = var.cluster.endpoint
  connection = merge(var.connection, {
    role_arn = var.connection.bearer_token == null && var.connection.cert_data == null ? aws_iam_role.spoke.arn : null
    ca_data  = var.connection.ca_data == null && !var.connection.insecure ? var.cluster.ca_data : var.connection.ca_data
  })
  aws = {
    account_id  = var.account_id
    region      = var.region
    vpc_id      = var.cluster.vpc_id
    oidc_issuer = var.cluster.oidc_issuer
  }
  role_arns = var.role_arns
  metadata  = var.metadata
  addons    = merge({ kubernetes_version = var.kubernetes_version, aws_region = var.region }, var.addons)
}

# The record is in the region of the hub, whose one store reads the records of all members. A secret
# of another account cannot be read with that account's default key.
resource "aws_kms_key" "record" {
  region              = var.hub.region
  description         = "Record of ${var.name} for ${var.hub.name}"
  enable_key_rotation = true
  policy              = module.trust.documents.key
}

resource "aws_secretsmanager_secret" "record" {
  region     = var.hub.region
  name       = "${var.hub.name}/${var.name}"
  kms_key_id = aws_kms_key.record.arn
}

resource "aws_secretsmanager_secret_policy" "record" {
  region     = var.hub.region
  secret_arn = aws_secretsmanager_secret.record.arn
  policy     = module.trust.documents.secret
}

resource "aws_secretsmanager_secret_version" "record" {
  region        = var.hub.region
  secret_id     = aws_secretsmanager_secret.record.id
  secret_string = module.record.json
}
