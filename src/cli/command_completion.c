/* SPDX-License-Identifier: Apache-2.0 */
/* topofit completion - tab completion for bash and zsh. */
#include "command.h"

#include <stdio.h>
#include <string.h>

static const char help[] = "Print a tab completion script.\n"
                           "\n"
                           "usage: topofit completion bash|zsh\n"
                           "\n"
                           "Examples:\n"
                           "  source <(topofit completion bash)\n"
                           "  topofit completion zsh > \"${fpath[1]}/_topofit\"\n";

/* The long options of a command, taken from its help text so that they are written once. */
static void print_options(const struct command *command)
{
    const char *at = command->help;

    while ((at = strstr(at, "--")) != NULL) {
        size_t length = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");

        if (length > 2 && (at[-1] == ' ' || at[-1] == '['))
            printf(" %.*s", (int)length, at);
        at += length;
    }
}

static void print_script(void)
{
    puts("_topofit() {\n"
         "    local words=\n"
         "    COMPREPLY=()\n"
         "    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    printf("        words=\"");
    for (size_t i = 0; cli_commands()[i] != NULL; i++)
        printf("%s%s", i > 0 ? " " : "", cli_commands()[i]->name);
    puts("\"\n    else\n        case ${COMP_WORDS[1]} in");
    for (size_t i = 0; cli_commands()[i] != NULL; i++) {
        printf("        %s) words=\"", cli_commands()[i]->name);
        print_options(cli_commands()[i]);
        puts("\" ;;");
    }
    puts("        esac\n    fi\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o default -F _topofit topofit");
}

static int run(const struct command *command, int argc, char **argv)
{
    if (argc != 2)
        return command_complain(command, "bash or zsh is expected");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return command_help(command);
    if (strcmp(argv[1], "zsh") == 0)
        puts("#compdef topofit\nautoload -U +X bashcompinit && bashcompinit");
    else if (strcmp(argv[1], "bash") != 0)
        return command_complain(command, "there is no completion for %s", argv[1]);
    print_script();
    return EXIT_YES;
}

const struct command command_completion = {
    .name = "completion", .summary = "print a tab completion script", .help = help, .run = run};
