import { Code } from '../../parts/code.tsx'
import type { Exchange, Json } from '../formats/format.ts'
import { objectOf, textOf } from '../formats/read.ts'
import { type Figure, Figures } from './figures.tsx'

export interface FailureProps {
  exchange: Pick<Exchange, 'status' | 'responseHeaders'>
  error: { readonly message: string; readonly body: Json }
}

/** Shows why a call failed: the message of the API, its status and code, the field, and when to retry. */
export function Failure({ exchange: { status, responseHeaders = {} }, error: { message, body } }: FailureProps) {
  const { type, code, param, status: name } = objectOf(objectOf(body).error)
  const figures: readonly Figure[] = [
    // A response that fails after its start has the status of a success.
    ['Status', status === undefined || status < 400 ? undefined : String(status)],
    ['Code', textOf(code) || textOf(name) || textOf(type) || undefined],
    ['Field', textOf(param) || undefined],
    ['Retry after', retryAfter(responseHeaders['retry-after'])],
    ['Request', responseHeaders['modelgate-request-id']],
  ]
  return (
    <div class="failure" role="alert">
      <p>{message}</p>
      <Figures figures={figures} />
      {body === null ? null : (
        <details>
          <summary>Complete error</summary>
          <Code text={typeof body === 'string' ? body : JSON.stringify(body, null, 2)} />
        </details>
      )}
    </div>
  )
}

/** The header has seconds, or a date. */
const retryAfter = (value: string | undefined): string | undefined =>
  value !== undefined && /^\d+$/.test(value) ? `${value} s` : value
