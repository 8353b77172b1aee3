import { Socket } from 'node:net'
import { Client, type Dispatcher } from 'undici'

let isCompiled = false

/** A handler without effect. undici 8 requires all methods. */
const handler: Dispatcher.DispatchHandler = {
  onRequestStart() {},
  onResponseStart() {},
  onResponseData() {},
  onResponseEnd() {},
  onResponseError() {},
}

/**
 * Makes undici compile its HTTP parser, a WebAssembly module, which takes 5 to 20 ms. Otherwise the first call of a process would wait
 * for it when its connection is open. Never throws.
 */
export function compileParser(): void {
  if (isCompiled) return
  isCompiled = true
  try {
    // The socket is never connected, so no request leaves the process.
    const client = new Client('http://localhost', { connect: (_target, callback) => callback(null, new Socket()) })
    client.dispatch({ path: '/', method: 'GET' }, handler)
    void client.destroy()
  } catch {
    // The first call compiles it.
  }
}
