import { GatewayError } from '../errors.ts'

/** The refusal of a body with more values and names than the limit (`limits.values`). */
export const tooManyValues = (limit: number): GatewayError =>
  new GatewayError(
    'invalid_request',
    `The request body holds more than ${limit} values and names: send less at a time.`,
  )
