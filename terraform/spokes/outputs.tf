output "secretManagerSecretName" {
  description = "For the member's file: the record's name, or its ARN where the hub is in another account"
  value       = local.account_id == local.hub_account ? module.registration.secret.name : module.registration.secret.arn
}

output "record" {
  description = "The record as JSON, for argosy lint --records"
  value       = module.registration.record
  sensitive   = true
}

output "facts" {
  description = "The member as an entry of a facts file"
  value       = module.registration.facts
}
