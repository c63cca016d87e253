"""The template as deployed, off-cloud: CloudFormation, API Gateway, Lambda, IAM and DynamoDB of a local emulator."""
