# Roles of components that act in AWS, as <cluster>-<component>. The components' ServiceAccounts get
# them by EKS Pod Identity.
terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 6.0" }
  }
}

locals {
  associations = merge([for component, identity in var.identities : {
    for account in identity.service_accounts : "${identity.namespace}/${account}" => {
      role = component, namespace = identity.namespace, service_account = account
    }
  }]...)
  attachments = merge([for component, identity in var.identities : {
    for arn in identity.policy_arns : "${component} ${arn}" => { role = component, arn = arn }
  }]...)
}

resource "aws_iam_role" "this" {
  for_each = var.identities

  name               = "${var.name}-${each.key}"
  assume_role_policy = var.trust_policy
}

resource "aws_iam_role_policy" "this" {
  for_each = { for component, identity in var.identities : component => identity.policy if identity.policy != null }

  name   = "fleet"
  role   = aws_iam_role.this[each.key].name
  policy = each.value
}

resource "aws_iam_role_policy_attachment" "this" {
  for_each = local.attachments

  role       = aws_iam_role.this[each.value.role].name
  policy_arn = each.value.arn
}

resource "aws_eks_pod_identity_association" "this" {
  for_each = local.associations

  cluster_name    = var.cluster_name
  namespace       = each.value.namespace
  service_account = each.value.service_account
  role_arn        = aws_iam_role.this[each.value.role].arn
}
