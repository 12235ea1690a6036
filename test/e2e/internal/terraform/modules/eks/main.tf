# A stand-in for terraform-aws-modules/eks/aws, which cannot be had where the tests run: the
# arguments and outputs that terraform/modules/cluster uses.
variable "name" { type = string }
variable "kubernetes_version" { type = string }
variable "vpc_id" { type = string }
variable "subnet_ids" { type = list(string) }
variable "endpoint_public_access" { type = bool }
variable "enable_cluster_creator_admin_permissions" { type = bool }
variable "compute_config" { type = object({ enabled = bool, node_pools = list(string) }) }

resource "aws_eks_cluster" "this" {
  name       = var.name
  version    = var.kubernetes_version
  subnet_ids = var.subnet_ids
}

output "cluster_name" { value = aws_eks_cluster.this.id }
output "cluster_endpoint" { value = aws_eks_cluster.this.endpoint }
output "cluster_certificate_authority_data" { value = aws_eks_cluster.this.ca_data }
output "cluster_oidc_issuer_url" { value = aws_eks_cluster.this.oidc_issuer }
