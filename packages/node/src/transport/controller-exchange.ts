import type { Dispatcher } from 'undici'
import { Exchange } from './exchange.ts'

/** The handler interface that undici 7 and 8 both publish. undici converts all response headers to an object. */
export class ControllerExchange extends Exchange implements Dispatcher.DispatchHandler {
  /** Names in lower case. A header that was repeated is an array. */
  #headers: Readonly<Record<string, string | string[] | undefined>> = {}
  #controller: Dispatcher.DispatchController | undefined

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.handleStart((error) => controller.abort(error))
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return
    // The raw headers would keep their packet in memory as long as the stream runs.
    controller.rawHeaders = null
    this.#headers = headers
    this.handleHead(status)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.handleData(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    this.handleEnd()
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.handleError(error)
  }

  protected override findHeader(name: string): string | undefined {
    const value = this.#headers[name]
    if (typeof value === 'string') return value
    return Array.isArray(value) ? value.join(', ') : undefined
  }

  protected override resumeParser(): void {
    this.#controller?.resume()
  }
}
