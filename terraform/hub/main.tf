# A hub in EKS: the cluster, the identities of Argo CD and External Secrets, and charts/hub, which
# brings the first ApplicationSets. Everything else comes from the fleet's repository.
provider "aws" {
  region = var.region
}

data "aws_caller_identity" "this" {}

locals {
  account_id = data.aws_caller_identity.this.account_id

  # The ServiceAccounts of the hub that act in AWS, by the role that they get.
  identities = {
    argocd = {
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
  associations = merge([for name, identity in local.identities : {
    for account in identity.service_accounts : account => { role = name, namespace = identity.namespace }
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

  account_id      = local.account_id
  region          = var.region
  spoke_role_arns = var.spoke_role_arns
  secret_arns     = var.secret_arns
  key_arns        = var.key_arns
}

resource "aws_iam_role" "hub" {
  for_each = local.identities

  name               = "${var.name}-${each.key}"
  assume_role_policy = module.trust.documents.pod_identity
}

resource "aws_iam_role_policy" "hub" {
  for_each = local.identities

  name   = "fleet"
  role   = aws_iam_role.hub[each.key].id
  policy = each.value.policy
}

resource "aws_eks_pod_identity_association" "hub" {
  for_each = local.associations

  cluster_name    = module.cluster.name
  namespace       = each.value.namespace
  service_account = each.key
  role_arn        = aws_iam_role.hub[each.value.role].arn
}

# Where terraform/spokes finds whom its roles and secrets have to trust.
resource "aws_ssm_parameter" "role" {
  for_each = local.identities

  name  = "/fleet/${var.name}/${each.key}-role-arn"
  type  = "String"
  value = aws_iam_role.hub[each.key].arn
}

# The facts of the hub; its connection is the cluster that Argo CD itself runs in.
module "record" {
  source = "../modules/member-record"

  cluster_name = var.name
  server       = module.cluster.endpoint
  connection   = { role_arn = aws_iam_role.hub["argocd"].arn, ca_data = module.cluster.ca_data }
  aws = {
    account_id  = local.account_id
    region      = var.region
    vpc_id      = module.cluster.vpc_id
    oidc_issuer = module.cluster.oidc_issuer
  }
  role_arns = { for name, role in aws_iam_role.hub : name => role.arn }
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
  depends_on       = [aws_eks_pod_identity_association.hub]
}

resource "helm_release" "external_secrets" {
  name             = "external-secrets"
  namespace        = "external-secrets"
  create_namespace = true
  repository       = "https://charts.external-secrets.io"
  chart            = "external-secrets"
  version          = var.external_secrets_version
  values           = [file("${path.module}/values/external-secrets.yaml")]
  depends_on       = [aws_eks_pod_identity_association.hub]
}

# The service, the roots and the store. From here on the fleet's repository has the word.
resource "helm_release" "argosy" {
  name       = "argosy"
  namespace  = "argocd"
  repository = var.chart_repository
  chart      = "hub"
  version    = var.argosy_version
  values = [yamlencode({
    service     = { hub = var.name, source = { git = { url = var.fleet.url, ref = var.fleet.revision } } }
    cluster     = { labels = module.record.facts.labels, annotations = module.record.facts.annotations }
    secretStore = { provider = "aws", aws = { service = "SecretsManager", region = var.region } }
  })]
  depends_on = [helm_release.argocd, helm_release.external_secrets]

  # The hub's own Application upgrades it by a commit.
  lifecycle {
    ignore_changes = [values, version]
  }
}
