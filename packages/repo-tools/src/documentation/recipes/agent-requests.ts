// Requests of coding agents: recorded from Claude Code 2.1.330 and Codex 0.169.0 with a gateway as their base URL. All fields are
// kept; prompts, tool descriptions and ids are replaced by short ones, and tools of the same form are left out.

const schema = {
  type: 'object',
  properties: { command: { type: 'string', description: 'The command.' } },
  required: ['command'],
  additionalProperties: false,
}
const mark = { cache_control: { type: 'ephemeral' } }

export interface AgentRequest {
  readonly agent: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

export const agentRequests: readonly AgentRequest[] = [
  {
    agent: 'Claude Code',
    path: '/v1/messages?beta=true',
    headers: {
      'user-agent': 'claude-cli/2.1.330 (external, sdk-cli)',
      'x-claude-code-session-id': '00000000-0000-4000-8000-000000000001',
      'x-stainless-retry-count': '0',
      'x-app': 'cli',
      'anthropic-version': '2023-06-01',
      'anthropic-beta':
        'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,per-turn-control-2026-07-01,mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20,effort-2025-11-24',
    },
    body: {
      model: 'claude-opus-5-5',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'A reminder.' },
            { type: 'text', text: 'Say hello.' },
          ],
        },
        {
          role: 'system',
          content: [{ type: 'text', text: 'The environment.', ...mark }],
          output_config: { effort: 'medium' },
        },
      ],
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.330.572; cc_entrypoint=sdk-cli;' },
        { type: 'text', text: 'You are an agent.', ...mark },
        { type: 'text', text: 'Work with the user.', ...mark },
      ],
      tools: [
        { name: 'Bash', description: 'Executes a command.', input_schema: schema },
        { name: 'DeferredToolPlaceholder', description: 'A placeholder.', input_schema: schema, defer_loading: true },
      ],
      metadata: { user_id: '{"device_id":"0","account_uuid":"","session_id":"0"}' },
      max_tokens: 128_000,
      thinking: { type: 'adaptive', display: 'omitted' },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      output_config: { effort: 'medium' },
      stream: true,
    },
  },
  {
    agent: 'Codex',
    path: '/v1/responses',
    headers: {
      'user-agent': 'codex_exec/0.169.0 (Debian 12.0.0; x86_64) xterm (codex_exec; 0.169.0)',
      'x-codex-beta-features': 'remote_compaction_v2',
      accept: 'text/event-stream',
    },
    body: {
      model: 'gpt-5-codex',
      stream: true,
      input: [
        message('msg_1', 'developer', 'You are a coding agent.'),
        message('msg_2', 'developer', 'Permissions.'),
        message('msg_3', 'user', 'The environment.'),
        message('msg_4', 'user', 'Say hello.'),
      ],
      tools: [
        tool('exec_command'),
        {
          type: 'namespace',
          name: 'multi_agent_v1',
          description: 'Tools for agents.',
          tools: [tool('close_agent'), tool('spawn_agent')],
        },
        tool('update_goal'),
        { type: 'web_search', external_web_access: false },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      reasoning: { summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: '00000000-0000-4000-8000-000000000002',
      client_metadata: { session_id: '00000000-0000-4000-8000-000000000002', turn_id: '1' },
    },
  },
]

function message(id: string, role: string, text: string): object {
  return { type: 'message', id, role, content: [{ type: 'input_text', text }] }
}

function tool(name: string): object {
  return { type: 'function', name, description: 'A tool.', strict: false, parameters: schema }
}
