output "name" {
  description = "Name of the cluster, once it is there"
  value       = module.eks.cluster_name
}

output "endpoint" {
  description = "URL of the API server"
  value       = module.eks.cluster_endpoint
}

output "ca_data" {
  description = "Certificate authority of the API server, in base64"
  value       = module.eks.cluster_certificate_authority_data
}

output "oidc_issuer" {
  description = "Issuer of the ServiceAccounts' tokens"
  value       = module.eks.cluster_oidc_issuer_url
}

output "vpc_id" {
  description = "The network"
  value       = module.vpc.vpc_id
}
