# A spoke in EKS: the cluster, the role that the hub's Argo CD assumes, and its record in the secret
# manager, which the hub's External Secrets reads. The member's file registers it.
provider "aws" {
  region = var.region
}

provider "aws" {
  alias  = "hub"
  region = var.hub.region

  dynamic "assume_role" {
    for_each = var.hub.reader_role_arn == "" ? [] : [var.hub.reader_role_arn]
    content {
      role_arn = assume_role.value
    }
  }
}

data "aws_caller_identity" "this" {}

data "aws_ssm_parameter" "hub" {
  provider = aws.hub
  for_each = toset(["argocd", "external-secrets"])

  name = "/fleet/${var.hub.name}/${each.key}-role-arn"
}

locals {
  account_id = data.aws_caller_identity.this.account_id
  policies = merge([for name, identity in var.identities : {
    for arn in identity.policy_arns : "${name} ${arn}" => { role = name, arn = arn }
  }]...)
}

module "cluster" {
  source = "../modules/cluster"

  name               = var.name
  vpc_cidr           = var.vpc_cidr
  kubernetes_version = var.kubernetes_version
}

module "trust" {
  source = "../modules/trust-policies"

  account_id                = local.account_id
  region                    = var.region
  argocd_role_arn           = data.aws_ssm_parameter.hub["argocd"].insecure_value
  external_secrets_role_arn = data.aws_ssm_parameter.hub["external-secrets"].insecure_value
}

# Argo CD of the hub becomes this role, which administers the cluster.
resource "aws_iam_role" "hub" {
  name               = "fleet-spoke-${var.name}"
  assume_role_policy = module.trust.documents.spoke_role
}

resource "aws_eks_access_entry" "hub" {
  cluster_name  = module.cluster.name
  principal_arn = aws_iam_role.hub.arn
}

resource "aws_eks_access_policy_association" "hub" {
  cluster_name  = module.cluster.name
  principal_arn = aws_eks_access_entry.hub.principal_arn
  policy_arn    = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"

  access_scope {
    type = "cluster"
  }
}

resource "aws_iam_role" "component" {
  for_each = var.identities

  name               = "${var.name}-${each.key}"
  assume_role_policy = module.trust.documents.pod_identity
}

resource "aws_iam_role_policy_attachment" "component" {
  for_each = local.policies

  role       = aws_iam_role.component[each.value.role].name
  policy_arn = each.value.arn
}

resource "aws_eks_pod_identity_association" "component" {
  for_each = var.identities

  cluster_name    = module.cluster.name
  namespace       = each.value.namespace
  service_account = each.value.service_account
  role_arn        = aws_iam_role.component[each.key].arn
}

module "record" {
  source = "../modules/member-record"

  cluster_name = var.name
  server       = module.cluster.endpoint
  connection   = { role_arn = aws_iam_role.hub.arn, ca_data = module.cluster.ca_data }
  aws = {
    account_id  = local.account_id
    region      = var.region
    vpc_id      = module.cluster.vpc_id
    oidc_issuer = module.cluster.oidc_issuer
  }
  role_arns = { for name, role in aws_iam_role.component : name => role.arn }
  metadata  = var.metadata
  addons    = merge({ kubernetes_version = var.kubernetes_version, aws_region = var.region }, var.addons)
}

resource "aws_kms_key" "record" {
  description         = "Record of ${var.name} for ${var.hub.name}"
  enable_key_rotation = true
  policy              = module.trust.documents.key
}

# A secret of another account cannot be read with the account's default key.
resource "aws_secretsmanager_secret" "record" {
  name       = "fleet/${var.hub.name}/${var.name}"
  kms_key_id = aws_kms_key.record.arn
}

resource "aws_secretsmanager_secret_policy" "record" {
  secret_arn = aws_secretsmanager_secret.record.arn
  policy     = module.trust.documents.secret
}

resource "aws_secretsmanager_secret_version" "record" {
  secret_id     = aws_secretsmanager_secret.record.id
  secret_string = module.record.json
}
