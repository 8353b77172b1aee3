import type { JsonObject } from '../../base/json/json.ts'
import { parseObject } from '../../base/json/parse.ts'
import type { BodySink, CutBody, PulledBody } from '../../http/inbound.ts'
import { createSseDecoder, type SseDecoder } from '../../http/sse/sse.ts'

/** Largest event in characters that is read. */
const maxEventChars = 1_048_576

type Watch = (result: IteratorResult<Uint8Array, undefined>) => void

/** Shows the events of a stream to a function until it returns true. Chunks pass unchanged, and are not decoded any more from then on. */
export function watchStream(
  body: AsyncIterable<Uint8Array>,
  isFound: (event: JsonObject) => boolean,
): AsyncIterable<Uint8Array> {
  let decoder: SseDecoder | undefined = createSseDecoder(maxEventChars)
  const watch: Watch = ({ value }) => {
    if (value === undefined || decoder === undefined) return
    try {
      for (const { data } of decoder.push(value)) {
        const event = parseObject(data)
        if (event === undefined || !isFound(event)) continue
        decoder = undefined
        return
      }
    } catch {
      // An event that is too large. The stream passes all the same.
      decoder = undefined
    }
  }
  return isPulled(body) ? new WatchedBody(body, watch) : { [Symbol.asyncIterator]: () => watchedIterator(body, watch) }
}

function watchedIterator(body: AsyncIterable<Uint8Array>, watch: Watch): AsyncIterator<Uint8Array> {
  const inner = body[Symbol.asyncIterator]()
  return {
    async next() {
      const result = await inner.next()
      watch(result)
      return result
    },
    return: async () => (await inner.return?.()) ?? { done: true, value: undefined },
  }
}

const isPulled = (body: AsyncIterable<Uint8Array>): body is PulledBody & CutBody => 'pull' in body && 'onCut' in body

/** Keeps the abilities of a body of the gateway, which adapters use. */
class WatchedBody implements PulledBody, CutBody {
  readonly #body: PulledBody & CutBody
  readonly #watch: Watch

  constructor(body: PulledBody & CutBody, watch: Watch) {
    this.#body = body
    this.#watch = watch
  }

  get onCut(): CutBody['onCut'] {
    return this.#body.onCut
  }

  set onCut(onCut: CutBody['onCut']) {
    this.#body.onCut = onCut
  }

  pull(sink: BodySink): void {
    this.#body.pull({
      onResult: (result) => {
        this.#watch(result)
        sink.onResult(result)
      },
      onError: (error) => sink.onError(error),
    })
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return watchedIterator(this.#body, this.#watch)
  }
}
