# A network in three zones and an EKS cluster in its private subnets, for hubs and spokes alike.
data "aws_availability_zones" "this" {
  state = "available"
}

locals {
  zones = slice(data.aws_availability_zones.this.names, 0, 3)
}

module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 6.0"

  name               = var.name
  cidr               = var.vpc_cidr
  azs                = local.zones
  private_subnets    = [for i, _ in local.zones : cidrsubnet(var.vpc_cidr, 4, i)]
  public_subnets     = [for i, _ in local.zones : cidrsubnet(var.vpc_cidr, 8, 240 + i)]
  enable_nat_gateway = true
  single_nat_gateway = true
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"

  name                                     = var.name
  kubernetes_version                       = var.kubernetes_version
  vpc_id                                   = module.vpc.vpc_id
  subnet_ids                               = module.vpc.private_subnets
  endpoint_public_access                   = true
  enable_cluster_creator_admin_permissions = true
  compute_config                           = { enabled = true, node_pools = ["general-purpose", "system"] }
}
