# Who may do what between a hub and a spoke of another account, as IAM documents. The module needs
# no provider: terraform/hub and terraform/spokes attach the documents.
terraform {
  required_version = ">= 1.5"
}

locals {
  version = "2012-10-17"

  # A role that one ServiceAccount gets by EKS Pod Identity, in clusters of this account alone.
  pod_identity = {
    Version = local.version
    Statement = [{
      Effect    = "Allow"
      Action    = ["sts:AssumeRole", "sts:TagSession"]
      Principal = { Service = "pods.eks.amazonaws.com" }
      Condition = { StringEquals = { "aws:SourceAccount" = var.account_id } }
    }]
  }

  # An Argo CD may become the role of these spokes, and nothing else.
  assume_spokes = {
    Version = local.version
    Statement = [{
      Effect   = "Allow"
      Action   = ["sts:AssumeRole", "sts:TagSession"]
      Resource = var.spoke_role_arns
    }]
  }

  # An External Secrets may read these secrets, and decrypt them by the way of the secret manager.
  read_records = {
    Version = local.version
    Statement = [
      {
        Effect   = "Allow"
        Action   = ["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"]
        Resource = var.secret_arns
      },
      {
        Effect    = "Allow"
        Action    = ["kms:Decrypt"]
        Resource  = var.key_arns
        Condition = { StringLike = { "kms:ViaService" = "secretsmanager.*.amazonaws.com" } }
      },
    ]
  }

  # The spoke's role trusts the hub's Argo CD, and the spoke's own.
  spoke_role = {
    Version = local.version
    Statement = [{
      Effect    = "Allow"
      Action    = ["sts:AssumeRole", "sts:TagSession"]
      Principal = { AWS = var.argocd_role_arns }
    }]
  }

  # The spoke's record may be read by the hub's External Secrets.
  secret = {
    Version = local.version
    Statement = [{
      Effect    = "Allow"
      Action    = ["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"]
      Principal = { AWS = var.external_secrets_role_arn }
      Resource  = "*"
    }]
  }

  # The spoke's key belongs to its account; the hub's External Secrets decrypts the record with it.
  key = {
    Version = local.version
    Statement = [
      {
        Effect    = "Allow"
        Action    = ["kms:*"]
        Principal = { AWS = "arn:${var.partition}:iam::${var.account_id}:root" }
        Resource  = "*"
      },
      {
        Effect    = "Allow"
        Action    = ["kms:Decrypt", "kms:DescribeKey"]
        Principal = { AWS = var.external_secrets_role_arn }
        Resource  = "*"
        Condition = { StringEquals = { "kms:ViaService" = "secretsmanager.${var.region}.amazonaws.com" } }
      },
    ]
  }
}
