output "json" {
  description = "The record as JSON: the value of the secret that secretManagerSecretName of the member's file names"
  value       = jsonencode(local.record)
  sensitive   = true
}

output "record" {
  description = "The record"
  value       = local.record
  sensitive   = true
}

output "facts" {
  description = "The cluster as an entry of a facts file, without a credential: for argosy plan --facts, in CI"
  value       = { name = var.cluster_name, server = var.server, labels = local.addons, annotations = local.metadata }
}
