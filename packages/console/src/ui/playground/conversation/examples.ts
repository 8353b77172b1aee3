import type { Question } from '../formats/format.ts'
import type { Draft } from '../settings/draft.ts'
import { exampleTools } from '../settings/tools.ts'

/** A prompt that shows an ability of the gateway in every format. It is filled in, not sent. */
export interface Example {
  readonly title: string
  readonly text: string
  /** A picture is drawn and attached. */
  readonly withPicture?: true
  /** Settings that it needs. */
  readonly draft: Partial<Draft>
}

/** Settings of one example must not remain for the next. */
const plain: Partial<Draft> = { offersTools: false, schema: '', effort: '' }

const orderSchema = {
  type: 'object',
  properties: {
    table: { type: 'integer' },
    items: {
      type: 'array',
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, quantity: { type: 'integer' } },
        required: ['name', 'quantity'],
        additionalProperties: false,
      },
    },
  },
  required: ['table', 'items'],
  additionalProperties: false,
}

export const examples: readonly Example[] = [
  {
    title: 'Call a tool',
    text: 'What is the weather in Rome? Do I need an umbrella?',
    draft: { ...plain, offersTools: true, tools: exampleTools },
  },
  {
    title: 'Describe an image',
    text: 'Describe the shapes and colours in this picture.',
    withPicture: true,
    draft: plain,
  },
  {
    title: 'Return JSON',
    text: 'Two espressos and a croissant for table 7, please.',
    draft: { ...plain, schema: JSON.stringify(orderSchema, null, 2) },
  },
  {
    title: 'Think first',
    text: 'A bat and a ball cost 1.10 together. The bat costs 1.00 more than the ball. What does the ball cost?',
    draft: { ...plain, effort: 'medium' },
  },
]

/** Returns the question of an example, with its picture. */
export function questionOf({ text, withPicture }: Example): Question {
  return { role: 'user', text, images: withPicture === true ? [picture()] : [] }
}

/** Draws a red circle and a blue square. */
function picture(): Question['images'][number] {
  const canvas = document.createElement('canvas')
  canvas.width = 240
  canvas.height = 120
  const context = canvas.getContext('2d')
  if (context !== null) {
    context.fillStyle = 'white'
    context.fillRect(0, 0, 240, 120)
    context.fillStyle = 'crimson'
    context.arc(65, 60, 38, 0, 7)
    context.fill()
    context.fillStyle = 'royalblue'
    context.fillRect(140, 22, 76, 76)
  }
  return { name: 'shapes.png', type: 'image/png', data: canvas.toDataURL('image/png').replace(/^[^,]*,/, '') }
}
