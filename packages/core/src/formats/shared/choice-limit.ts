import { GatewayError } from '../../base/errors.ts'

/**
 * Choices that an upstream's response may have where it is translated. A choice costs a decoder and an encoder, which is a thousand
 * times its three bytes (`{},`); no provider offers more than 128.
 */
const mostChoices = 1024

/** Throws GatewayError `upstream_bad_response` for a response with more choices. */
export function checkChoiceCount(count: number): void {
  if (count > mostChoices)
    throw new GatewayError(
      'upstream_bad_response',
      `The upstream sent more than ${mostChoices} choices in one response.`,
    )
}
