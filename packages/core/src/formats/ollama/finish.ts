import { GatewayError } from '../../base/errors.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Finish } from '../ir.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { reportFinish } from '../shared/response-losses.ts'

/** Ollama itself writes `stop`, also after calls, and `length`. Clients show another word, and a plain `stop` would hide a block. */
const words: Readonly<Record<Finish['reason'], string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-length': 'length',
  'tool-calls': 'stop',
  'content-filter': 'content_filter',
  refusal: 'content_filter',
  pause: 'stop',
  error: 'stop', // never written: such a response is an error
  other: 'stop',
}

/**
 * Returns `done_reason`, and reports what it does not express.
 *
 * @throws GatewayError `upstream_error` for a response that ended in an error, since an invented end would hide it
 */
export function encodeFinish(finish: Finish, hasParts: boolean, context: ExchangeContext): string {
  const { report } = context
  const { reason, sequence, raw: _raw, explanation, extra } = finish
  const at = '/choices/0'
  if (reason === 'error' || (reason === 'other' && !hasParts))
    throw new GatewayError('upstream_error', explanation ?? 'The upstream ended its response with an error.')
  reportFinish(finish, {}, at, context)
  ownExtra(extra, 'ollama', at, report)
  if (sequence !== undefined)
    report.add(loss(`${at}/sequence`, `Ollama does not report the stop sequence: ${sequence}`, 'unsupported', 'note'))
  if (explanation !== undefined)
    report.add(
      loss(
        `${at}/explanation`,
        `Ollama has no field for the explanation of the finish: ${explanation}`,
        'unsupported',
        'note',
      ),
    )
  return words[reason]
}
