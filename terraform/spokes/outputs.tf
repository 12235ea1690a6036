output "secretManagerSecretName" {
  description = "For the member's file"
  value       = aws_secretsmanager_secret.record.arn
}

output "facts" {
  description = "The member as an entry of a facts file"
  value       = module.record.facts
}
