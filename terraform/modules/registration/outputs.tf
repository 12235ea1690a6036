output "secret" {
  description = "The record in the secret manager: its name and its ARN"
  value       = { name = aws_secretsmanager_secret.record.name, arn = aws_secretsmanager_secret.record.arn }
}

output "record" {
  description = "The record as JSON"
  value       = module.record.json
  sensitive   = true
}

output "facts" {
  description = "The cluster as an entry of a facts file"
  value       = module.record.facts
}
