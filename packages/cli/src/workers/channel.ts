import { StorageAwayError } from '@modelgate/tokens'

/** One end of the connection between two processes, as `process` and `cluster.Worker` have it. */
export interface Port {
  /** @param sent called when the message has left this process, or cannot */
  send(message: unknown, sent: () => void): void
  receive(listener: (message: unknown) => void): void
}

/** Functions that one process offers to another one. Arguments and results are cloned. */
export type Functions = Readonly<Record<string, (...args: never[]) => unknown>>

/** Calls between two processes. Everything sent within one turn of the event loop is one message: each costs a system call and wakes a process. */
export interface Channel {
  /** Calls a function of the other process. Rejects with its error. */
  call<T>(name: string, ...args: unknown[]): Promise<T>
  /** As `call`, for what can wait for a few milliseconds: it is sent with the next message. */
  callSoon<T>(name: string, ...args: unknown[]): Promise<T>
  /** Calls a function of the other process without waiting for its result. It is sent with the next message. */
  notify(name: string, ...args: unknown[]): void
  /** Whether the other process reads slower than this one sends. What it can do without should then not be sent. */
  readonly isBehind: boolean
  /** Rejects all calls without a reply: the other process has ended. Later calls reject, too. */
  end(reason: Error): void
}

/** A call has an id, a notification has none. */
type Item =
  | { readonly id?: number; readonly name: string; readonly args: readonly unknown[] }
  | { readonly reply: number; readonly value: unknown }
  | { readonly reply: number; readonly error: SentError }

interface SentError {
  readonly name: string
  readonly message: string
  /** Set by a storage that has logged the error itself. */
  readonly isLogged?: true
}

/** Delay of what can wait. */
const soonMs = 5
/** Length from which a reply is large, such as a stored response. */
const largeChars = 64 * 1024
/** Messages that the other process has not read yet. */
const maxUnread = 100

interface PendingCall {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** Creates an end of a connection. */
export function createChannel(port: Port, functions: Functions): Channel {
  const pending = new Map<number, PendingCall>()
  let nextId = 0
  let unsent: Item[] = []
  let ended: Error | undefined
  let unread = 0
  /** Large replies wait for each other, so that there is one copy at a time, and small replies pass them. */
  const largeReplies: Item[] = []
  let isSendingLarge = false
  let isScheduled = false
  let timer: ReturnType<typeof setTimeout> | undefined

  const flush = (): void => {
    const items = unsent
    unsent = []
    isScheduled = false
    clearTimeout(timer)
    timer = undefined
    if (items.length > 0) send(items)
  }
  const send = (items: readonly Item[], then?: () => void): void => {
    if (ended !== undefined) return
    unread++
    port.send({ modelgate: items }, () => {
      unread--
      then?.()
    })
  }
  const sendLargeReply = (): void => {
    const next = largeReplies.shift()
    isSendingLarge = next !== undefined
    if (next !== undefined) send([next], sendLargeReply)
  }
  const push = (item: Item): void => {
    unsent.push(item)
    if (isScheduled) return
    isScheduled = true
    setImmediate(flush)
  }
  const pushSoon = (item: Item): void => {
    unsent.push(item)
    if (!isScheduled) timer ??= setTimeout(flush, soonMs)
  }
  const run = async (name: string, args: readonly unknown[]): Promise<unknown> => {
    const wanted = Object.hasOwn(functions, name) ? functions[name] : undefined
    if (wanted === undefined) throw new Error(`there is no function '${name}'`)
    return wanted(...(args as never[]))
  }
  const take = (item: Item): void => {
    if ('reply' in item) {
      const call = pending.get(item.reply)
      pending.delete(item.reply)
      if ('error' in item) call?.reject(errorOf(item.error))
      else call?.resolve(item.value)
      return
    }
    const { id, name, args } = item
    const result = run(name, args)
    if (id === undefined) {
      // No caller waits for it. The function itself logs its failures.
      result.catch(() => {})
      return
    }
    result.then(
      (value) => {
        if (typeof value !== 'string' || value.length < largeChars) return push({ reply: id, value })
        largeReplies.push({ reply: id, value })
        if (!isSendingLarge) sendLargeReply()
      },
      (error: unknown) => push({ reply: id, error: describeError(error) }),
    )
  }

  const request = <T>(send: (item: Item) => void, name: string, args: readonly unknown[]): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      if (ended !== undefined) return reject(ended)
      const id = nextId++
      pending.set(id, { resolve: resolve as (value: unknown) => void, reject })
      send({ id, name, args })
    })

  port.receive((message) => {
    for (const item of itemsOf(message)) take(item)
  })
  return {
    call: (name, ...args) => request(push, name, args),
    callSoon: (name, ...args) => request(pushSoon, name, args),
    notify(name, ...args) {
      if (ended === undefined) pushSoon({ name, args })
    },
    get isBehind() {
      return unread > maxUnread
    },
    end(reason) {
      ended ??= reason
      largeReplies.length = 0
      for (const { reject } of pending.values()) reject(ended)
      pending.clear()
    },
  }
}

/** Messages of others, such as those of the module `cluster`, are ignored. */
const itemsOf = (message: unknown): readonly Item[] =>
  typeof message === 'object' && message !== null && 'modelgate' in message && Array.isArray(message.modelgate)
    ? message.modelgate
    : []

function describeError(error: unknown): SentError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  const isLogged = error instanceof StorageAwayError && error.isLogged === true
  return { name: error.name, message: error.message, ...(isLogged ? { isLogged } : {}) }
}

/** The one error that callers distinguish by its class. */
function errorOf({ name, message, isLogged }: SentError): Error {
  if (name === 'StorageAwayError')
    return Object.assign(new StorageAwayError(message), isLogged === true ? { isLogged } : {})
  return Object.assign(new Error(message), { name })
}
