import type { Json } from '../../base/json/types.ts'
import { complain as complainAsChat } from '../chat/complaint.ts'
import type { Complaint, Issue } from '../shared/validate.ts'

/** Fields that count something, in this format's names: their values are integers. */
const counted: ReadonlySet<string> = new Set(['max_output_tokens', 'max_tool_calls', 'top_logprobs'])

/** Tells an issue in OpenAI's words, which are those of chat. */
export function complain(issue: Issue, body: Json): Complaint {
  const complaint = complainAsChat(issue, body)
  const { param = '', code = '', message } = complaint
  if (!counted.has(param) || !code.startsWith('decimal_')) return complaint
  return {
    param,
    code: code.replace('decimal', 'integer'),
    message: message.replace('decimal below', 'integer below').replace('decimal above', 'integer above'),
  }
}
