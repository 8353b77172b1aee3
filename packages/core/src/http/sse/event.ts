/** One server-sent event. `data` is the joined data lines; `event` its name, where it has one. */
export interface SseEvent {
  event?: string | undefined
  data: string
}
