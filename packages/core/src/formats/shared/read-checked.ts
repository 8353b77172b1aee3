import { GatewayError } from '../../errors.ts'
import type { Codec } from '../codec.ts'
import type { JsonObject } from '../ir.ts'

/**
 * Reads a request whose body has been checked by `checkRequest` only. A translation first needs the check of all that the decoder knows.
 * In the client's own format the decoder passes on what it does not know, so nothing is refused but what it cannot read at all.
 *
 * @throws GatewayError what speaks against the body
 */
export function readChecked<T>(
  { validateRequest }: Pick<Codec, 'validateRequest'>,
  isOwnFormat: boolean,
  body: JsonObject,
  read: () => T,
): T {
  if (!isOwnFormat) {
    validateRequest(body)
    return read()
  }
  try {
    return read()
  } catch (error) {
    if (!(error instanceof GatewayError)) validateRequest(body)
    throw error
  }
}
