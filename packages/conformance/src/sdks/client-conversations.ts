import type { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime'
import type { Ollama } from 'ollama'
import type { ClientFormat } from '../base/client-formats.ts'
import type { Clients, Conversation, ConversationOptions } from './conversation.ts'
import { startConverseConversation } from './converse-conversation.ts'
import { startOllamaConversation } from './ollama-conversation.ts'
import { conversationStarters } from './sdk-callers.ts'

type AllClients = Clients & { readonly ollama: Ollama; readonly bedrock: BedrockRuntimeClient }

/** Counts of tokens that the responses of a format lack, although those of other formats have them. */
const lackingCounts: Readonly<Partial<Record<ClientFormat, readonly ('cacheRead' | 'reasoning')[]>>> = {
  ollama: ['cacheRead', 'reasoning'],
  converse: ['reasoning'],
}

/** Returns whether the responses of a format count these tokens apart. */
export const countsApart = (client: ClientFormat, tokens: 'cacheRead' | 'reasoning'): boolean =>
  lackingCounts[client]?.includes(tokens) !== true

/** The official clients of all formats. */
export const clientConversations: Readonly<
  Record<ClientFormat, (clients: AllClients, manner: ConversationOptions) => Conversation>
> = { ...conversationStarters, ollama: startOllamaConversation, converse: startConverseConversation }
