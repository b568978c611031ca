// The nine hooks.

/** All nine, in the order in which they fire, with what each is about. */
export const HOOKS: [string, string][] = [
  ["process_input", "Once, before the first step: the history and the new input."],
  ["process_input_step", "Before each model call: all messages."],
  ["process_llm_request", "Before each model call: the prompt as it will be sent."],
  ["process_output_stream", "Each chunk of the answer."],
  ["process_api_error", "Each model call that failed."],
  ["process_llm_response", "After each model call: the model's own chunks."],
  ["process_output_step", "After each model call, before its tools run."],
  ["process_tool_result", "Each result of a tool."],
  ["process_output_result", "Once, after the last step: the whole answer."],
];
