import type { Choice, Delta, ModelEvent, ModelResponse, Part } from '../ir.ts'

/** Folds stream events into a response without the places of its parts, so that tests can compare it with a whole response. */
export function foldEvents(events: readonly ModelEvent[]): ModelResponse {
  const response: ModelResponse = { id: '', model: '', created: 0, choices: [] }
  const choiceAt = (index: number): Choice => {
    response.choices[index] ??= { parts: [], finish: { reason: 'other' } }
    return response.choices[index]
  }
  for (const event of events) {
    switch (event.type) {
      case 'response-start':
        Object.assign(response, { id: event.id, model: event.model, created: event.created })
        if (event.serviceTier !== undefined) response.serviceTier = event.serviceTier
        break
      case 'part-start':
        if (choiceAt(event.choice).parts.length !== event.part) throw new Error('parts do not start in order')
        choiceAt(event.choice).parts.push(withoutPlace(structuredClone(event.value)))
        break
      case 'part-delta': {
        const part = choiceAt(event.choice).parts[event.part]
        if (part === undefined) throw new Error('a delta for a part that has not started')
        grow(part, event.delta)
        break
      }
      case 'choice-end':
        choiceAt(event.choice).finish = event.finish
        break
      case 'usage':
        response.usage = event.usage
        if (event.serviceTier !== undefined) response.serviceTier = event.serviceTier
        break
    }
  }
  return response
}

/** Drops the place of a part, which only loss reports use. */
function withoutPlace({ at: _, ...part }: Part): Part {
  return part
}

function grow(part: Part, delta: Delta): void {
  if (delta.type === 'input' && part.type === 'tool-call') part.input += delta.text
  else if (delta.type === 'seal' && (part.type === 'reasoning' || part.type === 'tool-call')) part.seal = delta.seal
  else if (delta.type === 'citation' && part.type === 'text')
    part.citations = [...(part.citations ?? []), delta.citation]
  else if (delta.type === 'media' && part.type === 'media' && part.source.type === 'base64')
    part.source = { type: 'base64', data: part.source.data + delta.data }
  else if (delta.type === part.type && 'text' in part && 'text' in delta) part.text += delta.text
  else throw new Error(`a ${delta.type} delta for a ${part.type} part`)
}
