import { type Json, type JsonObject, stringifyExact } from '../base/json/json.ts'
import { hasExactNumbers, parseExact } from '../base/json/parse.ts'
import type { OnLoss } from '../config/identity.ts'
import type { EventEditor, ExchangeEdits } from '../formats/adaptations/adaptation.ts'
import type { Loss, Report } from '../formats/ir.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { EventWriter, Framing } from '../http/framing/framing.ts'
import { SseWriter } from '../http/framing/sse-writer.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { framedStream } from './framed-stream.ts'
import type { Lane, RequestWriter, TargetRequest, WholeResponse } from './lane.ts'

/** Writes the requests of another writer, and edits the responses for the clients of an adaptation. */
export class AdaptedWriter implements RequestWriter {
  readonly #writer: RequestWriter
  readonly #edits: ExchangeEdits
  readonly #request: RequestBody

  constructor(writer: RequestWriter, edits: ExchangeEdits, request: RequestBody) {
    this.#writer = writer
    this.#edits = edits
    this.#request = request
  }

  write(target: ResolvedTarget, policy: OnLoss): TargetRequest | Promise<TargetRequest> {
    const written = this.#writer.write(target, policy)
    return written instanceof Promise ? written.then((request) => this.#adapt(request)) : this.#adapt(written)
  }

  #adapt(request: TargetRequest): TargetRequest {
    for (const loss of this.#request.losses ?? []) request.lane.report.add(loss)
    return { ...request, lane: adaptedLane(request.lane, this.#edits) }
  }
}

function adaptedLane(lane: Lane, edits: ExchangeEdits): Lane {
  const { clientFields } = edits
  return {
    ...lane,
    report: clientFields === undefined ? lane.report : new RenamedReport(lane.report, clientFields),
    readResponse: (bytes) => adaptedResponse(lane.readResponse(bytes), edits, lane.report),
    openStream() {
      const stream = lane.openStream()
      return edits.openEvents === undefined
        ? stream
        : framedStream(stream, adaptedFraming(edits.openEvents(lane.report)))
    },
    clientParam:
      clientFields === undefined
        ? lane.clientParam
        : (param) => {
            const own = lane.clientParam === undefined ? param : lane.clientParam(param)
            return own === undefined || !Object.hasOwn(clientFields, own) ? own : clientFields[own]
          },
  }
}

/** A report whose losses of the request have the client's names of fields. */
class RenamedReport implements Report {
  readonly #report: Report
  readonly #names: { readonly [field: string]: string }

  constructor(report: Report, names: { readonly [field: string]: string }) {
    this.#report = report
    this.#names = names
  }

  get losses(): readonly Loss[] {
    return this.#report.losses.map((loss) =>
      loss.side === undefined ? { ...loss, path: this.#rename(loss.path) } : loss,
    )
  }

  add(loss: Loss): void {
    this.#report.add(loss)
  }

  #rename(path: string): string {
    const [, field = '', ...rest] = path.split('/')
    const name = Object.hasOwn(this.#names, field) ? this.#names[field] : undefined
    return name === undefined ? path : ['', name, ...rest].join('/')
  }
}

const decoder = new TextDecoder()

function adaptedResponse(response: WholeResponse, { editResponse }: ExchangeEdits, report: Report): WholeResponse {
  if (editResponse === undefined) return response
  const text = typeof response.body === 'string' ? response.body : decoder.decode(response.body)
  const body = (hasExactNumbers(text) ? parseExact(text) : JSON.parse(text)) as Json as JsonObject
  // Other than the upstream's bytes, the edited text is UTF-8.
  const { contentType: _, ...others } = response
  return { ...others, body: stringifyExact(editResponse(body, report)) }
}

/** Server-sent events, edited before they are written. */
const adaptedFraming = (editor: EventEditor): Framing => ({
  contentType: 'text/event-stream; charset=utf-8',
  open: () => new AdaptedEvents(editor),
})

const comment: SseEvent = { event: ':', data: 'keep-alive' }

class AdaptedEvents implements EventWriter {
  readonly #writer = new SseWriter()
  readonly #editor: EventEditor
  #hasEnded = false

  constructor(editor: EventEditor) {
    this.#editor = editor
  }

  write(events: readonly SseEvent[]): void {
    for (const event of events) this.#writer.write(this.#editor.push(event))
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#writer.write(this.#editor.end())
  }

  take(): Uint8Array | undefined {
    return this.#writer.take()
  }

  heartbeat(own: () => readonly SseEvent[]): Uint8Array {
    const events = own().flatMap((event) => this.#editor.push(event))
    return this.#writer.heartbeat(() => (events.length === 0 ? [comment] : events))
  }
}
