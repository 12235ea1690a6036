# A hub in EKS: the cluster, the roles of its Argo CD and External Secrets, its own record, and
# charts/hub, which brings the first ApplicationSets. Everything else comes from the fleet's
# repository. A workspace has one hub.
provider "aws" {
  region = var.region
}

data "aws_caller_identity" "this" {}

locals {
  name       = coalesce(var.name, terraform.workspace)
  account_id = data.aws_caller_identity.this.account_id
  secrets    = "arn:aws:secretsmanager:${var.region}"
  private    = nonsensitive(var.github_app != null)
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
  spoke_role_arns = var.spoke_role_arns
  secret_arns     = var.secret_arns == null ? ["${local.secrets}:*:secret:${local.name}/*", "${local.secrets}:${local.account_id}:secret:github/*"] : var.secret_arns
  key_arns        = var.key_arns == null ? ["arn:aws:kms:${var.region}:*:key/*"] : var.key_arns
}

module "identities" {
  source = "../modules/identities"

  name         = local.name
  cluster_name = module.cluster.name
  trust_policy = module.trust.documents.pod_identity
  identities = {
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

# Where terraform/spokes finds whom its roles and secrets have to trust.
resource "aws_ssm_parameter" "role" {
  for_each = module.identities.role_arns

  name  = "/fleet/${local.name}/${each.key}-role-arn"
  type  = "String"
  value = each.value
}

# The hub is registered as its members are. charts/hub registers it with its own Argo CD, which
# needs no credential there; the record is for whoever else deploys to it.
module "registration" {
  source = "../modules/registration"

  name                      = local.name
  hub                       = { name = local.name, region = var.region }
  account_id                = local.account_id
  region                    = var.region
  cluster                   = module.cluster
  kubernetes_version        = var.kubernetes_version
  argocd_role_arns          = [module.identities.role_arns["argo-cd"]]
  external_secrets_role_arn = module.identities.role_arns["external-secrets"]
  role_arns                 = module.identities.role_arns
  addons                    = var.addons
  metadata                  = var.metadata
}

# The GitHub App that reads the fleet's repository, as charts/fleet-secret reads it from the store.
resource "aws_secretsmanager_secret" "github_app" {
  count = local.private ? 1 : 0

  name = "github/${local.name}/fleet"
}

resource "aws_secretsmanager_secret_version" "github_app" {
  count = local.private ? 1 : 0

  secret_id = aws_secretsmanager_secret.github_app[0].id
  secret_string = jsonencode({
    githubAppID             = var.github_app.id
    githubAppInstallationID = var.github_app.installation_id
    githubAppPrivateKey     = var.github_app.private_key
  })
}

provider "helm" {
  kubernetes = {
    host                   = module.cluster.endpoint
    cluster_ca_certificate = base64decode(module.cluster.ca_data)
    exec = {
      api_version = "client.authentication.k8s.io/v1beta1"
      command     = "aws"
      args        = ["eks", "get-token", "--cluster-name", module.cluster.name, "--region", var.region]
    }
  }
}

resource "helm_release" "argocd" {
  name             = "argo-cd"
  namespace        = "argocd"
  create_namespace = true
  repository       = "https://argoproj.github.io/argo-helm"
  chart            = "argo-cd"
  version          = var.argocd_version
  values           = [file("${path.module}/values/argo-cd.yaml")]
  depends_on       = [module.identities]
}

resource "helm_release" "external_secrets" {
  name             = "external-secrets"
  namespace        = "external-secrets"
  create_namespace = true
  repository       = "https://charts.external-secrets.io"
  chart            = "external-secrets"
  version          = var.external_secrets_version
  values           = [file("${path.module}/values/external-secrets.yaml")]
  depends_on       = [module.identities]
}

# Makes the Secret <hub>-git-github of the App, which Argo CD and the service both read, as soon as
# the store of charts/hub is there.
resource "helm_release" "repository" {
  count = local.private ? 1 : 0

  name       = "fleet-repository"
  namespace  = "argocd"
  repository = var.chart_repository
  chart      = "fleet-secret"
  version    = var.argosy_version
  values = [yamlencode({
    clusterName      = local.name
    externalSecret   = { enabled = false }
    githubSecret     = true
    githubSecretName = aws_secretsmanager_secret.github_app[0].name
    github           = { type = "githubApp", kind = "repository", url = var.fleet.url }
    secretStore      = { create = false, kind = "ClusterSecretStore", name = "fleet-secrets" }
  })]
  depends_on = [helm_release.argocd, helm_release.external_secrets, aws_secretsmanager_secret_version.github_app]
}

# The service, the roots and the store. From here on the fleet's repository has the word.
resource "helm_release" "argosy" {
  name       = "argosy"
  namespace  = "argocd"
  repository = var.chart_repository
  chart      = "hub"
  version    = var.argosy_version
  values = [yamlencode({
    service = {
      hub    = local.name
      source = { git = { url = var.fleet.url, ref = var.fleet.revision, credentialsSecret = local.private ? "${local.name}-git-github" : "" } }
    }
    cluster     = { labels = module.registration.facts.labels, annotations = module.registration.facts.annotations }
    secretStore = { provider = "aws", aws = { service = "SecretsManager", region = var.region } }
  })]
  depends_on = [helm_release.argocd, helm_release.external_secrets, helm_release.repository]

  # The hub's own Application upgrades it by a commit.
  lifecycle {
    ignore_changes = [values, version]
  }
}
