# A spoke in EKS: the cluster, the role that the hub's Argo CD assumes, its record in the secret
# manager, which the hub's External Secrets reads, and the roles of its own components. The member's
# file registers it. A workspace has one spoke.
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
  for_each = toset(["argo-cd", "external-secrets"])

  name = "/fleet/${var.hub.name}/${each.key}-role-arn"
}

locals {
  name        = coalesce(var.name, terraform.workspace)
  account_id  = data.aws_caller_identity.this.account_id
  hub_account = split(":", data.aws_ssm_parameter.hub["argo-cd"].insecure_value)[4]

  # The member's own Argo CD gets into the cluster as the hub's does, and its External Secrets reads
  # what they need. Both are there if the member is an agent.
  agent = {
    argo-cd = {
      namespace        = "argocd"
      service_accounts = ["argocd-application-controller", "argocd-applicationset-controller", "argocd-server"]
      policy           = module.trust.documents.assume_spokes
    }
    external-secrets = {
      namespace        = "external-secrets"
      service_accounts = ["external-secrets-sa"]
      policy           = module.trust.documents.read_records
    }
  }
}

module "cluster" {
  source = "../modules/cluster"

  name               = local.name
  vpc_cidr           = var.vpc_cidr
  kubernetes_version = var.kubernetes_version
}

module "trust" {
  source = "../modules/trust-policies"

  account_id      = local.account_id
  region          = var.region
  spoke_role_arns = ["arn:aws:iam::${local.account_id}:role/fleet-spoke-${local.name}"]
  secret_arns     = var.secret_arns == null ? ["arn:aws:secretsmanager:${var.region}:${local.account_id}:secret:github/*"] : var.secret_arns
  key_arns        = ["arn:aws:kms:${var.region}:${local.account_id}:key/*"]
}

module "identities" {
  source = "../modules/identities"

  name         = local.name
  cluster_name = module.cluster.name
  trust_policy = module.trust.documents.pod_identity
  identities   = merge({ for component, identity in local.agent : component => identity if var.agent }, var.identities)
}

module "registration" {
  source = "../modules/registration"

  name                      = local.name
  hub                       = var.hub
  account_id                = local.account_id
  region                    = var.region
  cluster                   = module.cluster
  kubernetes_version        = var.kubernetes_version
  argocd_role_arns          = concat([data.aws_ssm_parameter.hub["argo-cd"].insecure_value], var.agent ? [module.identities.role_arns["argo-cd"]] : [])
  external_secrets_role_arn = data.aws_ssm_parameter.hub["external-secrets"].insecure_value
  role_arns                 = module.identities.role_arns
  connection                = var.connection
  addons                    = var.addons
  metadata                  = var.metadata
}
