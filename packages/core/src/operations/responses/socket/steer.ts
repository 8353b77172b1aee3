import type { JsonObject } from '../../../base/json/json.ts'

const encoder = new TextEncoder()

/** Returns the message that rejects user input for a running response: no upstream is asked to change course. */
export function steerFailed({ input = null, previous_response_id = null }: JsonObject): Uint8Array {
  return encoder.encode(
    JSON.stringify({
      type: 'response.steer.failed',
      sequence_number: 0,
      steer: { previous_response_id, input },
      error: {
        type: 'invalid_request_error',
        code: 'steering_not_supported',
        message: 'This gateway does not support steering. Send the input in the next response.create.',
      },
    }),
  )
}
