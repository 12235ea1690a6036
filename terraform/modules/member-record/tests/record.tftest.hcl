variables {
  cluster_name = "retail-prod-eu-1"
  server       = "https://ABC.gr7.eu-west-1.eks.amazonaws.com"
  connection   = { role_arn = "arn:aws:iam::333344445555:role/argocd-spoke", ca_data = "Y2E=" }
  aws          = { account_id = "333344445555", region = "eu-west-1", oidc_issuer = "https://oidc.eks.eu-west-1.amazonaws.com/id/ABC" }
}

run "an_eks_cluster" {
  command = apply
  variables {
    role_arns = { external-dns = "arn:aws:iam::333344445555:role/dns" }
    metadata  = { vpc_cidr = "10.0.0.0/16", nothing = "" }
    addons    = { kubernetes_version = "1.33", environment = "" }
  }
  assert {
    condition     = jsondecode(output.json).config.awsAuthConfig == { clusterName = "retail-prod-eu-1", roleARN = "arn:aws:iam::333344445555:role/argocd-spoke" }
    error_message = "config.awsAuthConfig is not the role's"
  }
  assert {
    condition     = output.facts.annotations == { aws_account_id = "333344445555", aws_region = "eu-west-1", aws_cluster_name = "retail-prod-eu-1", aws_oidc_issuer = "oidc.eks.eu-west-1.amazonaws.com/id/ABC", aws_role_external_dns = "arn:aws:iam::333344445555:role/dns", vpc_cidr = "10.0.0.0/16" }
    error_message = "metadata is not the facts of AWS, the roles and the given ones"
  }
  assert {
    condition     = output.facts.labels == { kubernetes_version = "1.33" }
    error_message = "an empty environment blanks the one that Git declares"
  }
}

run "a_token" {
  command = apply
  variables {
    connection = { bearer_token = "t", insecure = true }
    aws        = null
  }
  assert {
    condition     = output.json == jsonencode({ cluster_name = "retail-prod-eu-1", server = "https://ABC.gr7.eu-west-1.eks.amazonaws.com", config = { bearerToken = "t", tlsClientConfig = { insecure = true } } })
    error_message = "the record has more or less than the connection"
  }
}

run "name" {
  command = plan
  variables { cluster_name = "Retail" }
  expect_failures = [var.cluster_name]
}

run "address" {
  command = plan
  variables { server = "http://10.0.0.1" }
  expect_failures = [var.server]
}

run "no_credential" {
  command = plan
  variables { connection = { ca_data = "Y2E=" } }
  expect_failures = [var.connection]
}

run "account_as_a_number" {
  command = plan
  variables { aws = { account_id = "1.2e+11", region = "eu-west-1" } }
  expect_failures = [var.aws]
}

run "no_label" {
  command = plan
  variables { addons = { ring = "a b" } }
  expect_failures = [var.addons]
}

run "no_role" {
  command = plan
  variables { role_arns = { external-dns = "dns" } }
  expect_failures = [var.role_arns]
}
