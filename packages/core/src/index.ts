export { GatewayError } from './errors.ts'
